"""The CDN of the local hub: signed addresses that expire, and tags that are no hashes."""

from __future__ import annotations

import urllib.parse

from tests.support.hub.answers import Handler


class CdnHandler(Handler):
    """Objects by their name in the store; never asks for a token."""

    origin = "cdn"

    def serve(self, target: urllib.parse.SplitResult) -> None:
        if target.path.startswith(("/v1/reconstructions/", "/v2/reconstructions/")):
            self.answer(501, {}, b"")  # the chunk protocol of Xet is not spoken here
            return
        name = target.path.rpartition("/")[2]
        query = dict(urllib.parse.parse_qsl(target.query))
        file = self.hub.object_named(name)
        if file is None or not self.hub.is_signature(target.path, query):
            body = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"
            self.answer(403, {"Content-Type": "application/xml"}, body)
        else:
            # The CDN's own tag is not the hash.
            is_oss = target.path.startswith("/oss/")
            self.send_file(file, {"ETag": f'"cdn-{name[:8]}"'}, quirk=is_oss)
