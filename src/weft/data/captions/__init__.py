"""Pictures with captions as batches, and where the pictures are that tables name; `data.readers.captions` reads them."""
