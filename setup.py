"""Builds the native kernels where there is a compiler. Everything else about the package is in pyproject.toml.

The library is loaded by its path and knows nothing of Python, so that one wheel serves all versions of Python.
"""

import re
import runpy
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, CompileError, ExecError, PlatformError

build = runpy.run_path("src/weft/native/build.py")
kernels = "src/weft/native/kernels"


class Kernels(build_ext):
    """Compiles with threads (OpenMP) where the compiler has them, else without; and says so where it cannot at all."""

    def build_extension(self, extension: Extension) -> None:
        """The library, or a sentence."""
        problem: Exception | str = "the kernels are written for gcc and clang"
        for threads in () if self.compiler.compiler_type == "msvc" else (("-fopenmp",), ()):
            extension.extra_compile_args = [*build["FLAGS"], *threads]
            extension.extra_link_args = [*threads]
            try:
                return super().build_extension(extension)
            except (CCompilerError, CompileError, ExecError, PlatformError) as error:
                problem = error
        print(f"weft: no native kernels ({problem}); models compute in torch, with the same answers, more slowly")
        return None

    def get_ext_filename(self, name: str) -> str:
        """Without the version of Python in it."""
        return name.replace(".", "/") + ".so"


class Wheel(bdist_wheel):
    """For every version of Python, on one kind of machine."""

    def get_tag(self) -> tuple[str, str, str]:
        """The tags of the file's name."""
        return "py3", "none", super().get_tag()[2]


def readme() -> str:
    """README.md for pages outside of the clone: links and pictures that lead into it are left out, their words stay."""
    text = Path("README.md").read_text(encoding="utf-8")
    text = re.sub(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n+", "", text)
    return re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", text)


setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    cmdclass={"build_ext": Kernels, "bdist_wheel": Wheel},
    ext_modules=[
        Extension(
            "weft.native._kernels",
            [f"{kernels}/{file.name}" for file in build["sources"]()],
            depends=[f"{kernels}/{file.name}" for file in build["headers"]()],
            define_macros=[("SOURCES", f'"{build["digest"]()}"')],
            libraries=["m"],
            optional=True,  # without a compiler weft computes in torch
        )
    ],
)
