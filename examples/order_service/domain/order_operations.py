"""What the business does to an order. Events carry it: a cancelled order says why it is."""

from pragmatic_ddd.domain import EntityOperation, OperationRegistry


class OrderOperations(OperationRegistry):
    PLACE = EntityOperation("shop.order.place", "a customer orders")
    ADD_LINE = EntityOperation("shop.order.add-line", "the customer wants something more")
    PAY = EntityOperation("shop.order.pay", "the customer has paid")
    SHIP = EntityOperation("shop.order.ship", "the parcel leaves the house")
    CANCEL = EntityOperation("shop.order.cancel", "the customer does not want it any more")
    CLOSE_ACCOUNT = EntityOperation("shop.order.close-account", "its customer leaves the shop")
