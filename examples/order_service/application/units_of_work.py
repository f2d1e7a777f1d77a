"""The service's unit of work: the core's, with the repository in the same transaction."""

from abc import abstractmethod
from typing import Protocol

from examples.order_service.domain import IOrderRepository
from pragmatic_ddd import IUnitOfWork


class IOrderUnitOfWork(IUnitOfWork, Protocol):
    """One transaction over orders."""

    @property
    @abstractmethod
    def orders(self) -> IOrderRepository: ...


class IUnitsOfWork(Protocol):
    """Begins a unit of work."""

    @abstractmethod
    def __call__(self) -> IOrderUnitOfWork: ...
