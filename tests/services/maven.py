"""Jars from Maven packages, fetched by Maven itself with all that they depend on."""

from collections.abc import Iterable
from pathlib import Path

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


def fetch(
    directory: Path, *, group: str, artifacts: Iterable[str], version: str, log: Path
) -> None:
    """Put the jars of the artifacts and of their dependencies into the directory.

    Raises:
        ServiceError: Maven failed.
    """
    project = directory / "pom.xml"
    project.write_text(
        _PROJECT.format(
            dependencies="\n".join(
                _DEPENDENCY.format(group=group, artifact=artifact, version=version)
                for artifact in artifacts
            )
        )
    )
    options = ["-DincludeScope=runtime", f"-DoutputDirectory={directory}"]
    run(
        ["mvn", "--quiet", "--batch-mode", "--file", str(project), _COPY, *options],
        log=log,
    )
