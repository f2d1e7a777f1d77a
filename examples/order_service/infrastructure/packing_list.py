"""The warehouse's list, in a table. In a larger company it is another service's database."""

import attrs
import sqlalchemy as sa

from examples.order_service.infrastructure.tables import packing_list


@attrs.frozen
class SqlAlchemyPackingList:
    engine: sa.Engine

    def put(self, order_id: str) -> bool:
        try:
            with self.engine.begin() as connection:
                connection.execute(sa.insert(packing_list).values(order_id=order_id))
        except sa.exc.IntegrityError:
            return False
        return True

    def remove(self, order_id: str) -> None:
        with self.engine.begin() as connection:
            connection.execute(sa.delete(packing_list).where(packing_list.c.order_id == order_id))
