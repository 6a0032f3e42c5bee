"""Builds the native kernels where there is a compiler. Everything else about the package is in pyproject.toml."""

import runpy

from setuptools import Extension, setup

build = runpy.run_path("src/weft/native/build.py")
kernels = "src/weft/native/kernels"

setup(
    ext_modules=[
        Extension(
            "weft.native._kernels",
            [f"{kernels}/{file.name}" for file in build["sources"]()],
            depends=[f"{kernels}/{file.name}" for file in build["headers"]()],
            define_macros=[("SOURCES", f'"{build["digest"]()}"')],
            extra_compile_args=[*build["FLAGS"], "-fopenmp"],
            extra_link_args=["-fopenmp"],
            libraries=["m"],
            optional=True,  # without a compiler weft computes in torch
        )
    ]
)
