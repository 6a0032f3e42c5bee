"""Model folders of the Hugging Face library, read and written; ONNX graphs, written."""

from weft.interop.marks import Marks
from weft.interop.onnx import write_onnx
from weft.interop.proof import prove
from weft.interop.reading import Imported, read_folder, read_source
from weft.interop.writing import write_folder

__all__ = ["Imported", "Marks", "prove", "read_folder", "read_source", "write_folder", "write_onnx"]
