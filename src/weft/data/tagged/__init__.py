"""Tagged sentences as bundles of like length; `data.readers.tagged` reads them."""
