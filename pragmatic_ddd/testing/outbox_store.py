"""Contract of ``IOutboxStore``: subclass it, provide four things, run pytest.

    class TestMine(OutboxStoreContract):
        @pytest.fixture
        def store(self) -> IOutboxStore: ...                # empty

        def pass_time(self, store, duration) -> None: ...   # no test sleeps
        def transactions(self, store) -> ITransactionOperations: ...

Set ``claims_concurrently`` or ``reserves`` to False where the store cannot; the tests that
need it are skipped, with the reason.
"""

from pragmatic_ddd.testing.outbox_claiming import ClaimingContract
from pragmatic_ddd.testing.outbox_dead_letters import DeadLetterContract
from pragmatic_ddd.testing.outbox_lapsing import LapsingContract
from pragmatic_ddd.testing.outbox_operating import OperatingContract
from pragmatic_ddd.testing.outbox_ordering import OrderingContract
from pragmatic_ddd.testing.outbox_settling import SettlingContract
from pragmatic_ddd.testing.outbox_storing import StoringContract
from pragmatic_ddd.testing.outbox_tidying import TidyingContract


class OutboxStoreContract(
    StoringContract,
    ClaimingContract,
    OrderingContract,
    LapsingContract,
    SettlingContract,
    TidyingContract,
    DeadLetterContract,
    OperatingContract,
):
    """What every outbox store does: storing, claiming, order, settling, and what operators need."""
