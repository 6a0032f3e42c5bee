"""What stands in a page: its documents, and what its policy lets it do."""

import json
import re

from weft.inspect.document import LookDocument

DATA = re.compile(r'<script type="application/json" id="documents">(.*?)</script>', re.S)


def documents(page: bytes) -> list[LookDocument]:
    """The documents of a page, out of its text."""
    (found,) = DATA.findall(page.decode())
    return [LookDocument.from_json(one) for one in json.loads(found)]


def document(page: bytes) -> LookDocument:
    """The only document of a page."""
    (found,) = documents(page)
    return found
