"""Killing the site's processes while a platform misbehaves, and checking what is left."""
