"""Jars from Maven packages, fetched by Maven itself with all that they depend on."""

from collections.abc import Iterable
from pathlib import Path

from tests.services.folder import STATE, exclusive
from tests.services.process import run

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_PROJECT = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>pragmatic-ddd</groupId><artifactId>services</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY = """\
    <dependency>
      <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
    </dependency>"""


def fetch(directory: Path, *, artifacts: Iterable[str], log: Path) -> None:
    """Put the jars of the artifacts and of their dependencies into the directory.

    One at a time: Maven's own repository is not made for two at once.

    Args:
        directory: Where they go; it exists.
        artifacts: Each as ``group:artifact:version``.
        log: What Maven prints goes here.

    Raises:
        ServiceError: Maven failed.
    """
    project = directory / "pom.xml"
    project.write_text(
        _PROJECT.format(dependencies="\n".join(_dependency(*one.split(":")) for one in artifacts))
    )
    options = ["-DincludeScope=runtime", f"-DoutputDirectory={directory}"]
    with exclusive(STATE / "maven"):
        run(
            ["mvn", "--quiet", "--batch-mode", "--file", str(project), _COPY, *options],
            log=log,
        )


def _dependency(group: str, artifact: str, version: str) -> str:
    return _DEPENDENCY.format(group=group, artifact=artifact, version=version)
