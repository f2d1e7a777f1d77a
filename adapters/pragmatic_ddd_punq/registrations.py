"""What a container knows before anything is made: who registered what, and how long it lives."""

from collections.abc import Sequence

import attrs
import punq

from pragmatic_ddd.errors import ConfigurationError


@attrs.frozen
class Registrations:
    """Reads a container's registrations without making anything.

    Attributes:
        container: The application's container.
    """

    container: punq.Container

    def has(self, service: type) -> bool:
        """Tell whether somebody has registered that service."""
        return bool(self._scopes(service))

    def require(self, ports: Sequence[type], *, needed: Sequence[type]) -> None:
        """Refuse to go on where a needed port is missing, or made anew for each who asks.

        Args:
            ports: All ports that the application is to register; every fault is named.
            needed: Those without which the present service cannot be made.

        Raises:
            ConfigurationError: Names every port that is at fault.
        """
        faults = {port: fault for port in ports if (fault := self._fault(port)) is not None}
        if any(port in faults for port in needed):
            raise ConfigurationError(list(faults.values()))

    def _fault(self, port: type) -> str | None:
        scopes = self._scopes(port)
        if not scopes:
            return (
                f"{port.__name__} is not registered: "
                f"container.register({port.__name__}, instance=...)"
            )
        if scopes[-1] is not punq.Scope.singleton:
            return (
                f"{port.__name__} is made anew for each who asks, but all must share it: register "
                f"an instance, or with scope=punq.Scope.singleton"
            )
        return None

    def _scopes(self, service: type) -> list[punq.Scope]:
        context = self.container.registrations.build_context(service)
        return [one.scope for one in context.all_registrations(service)]
