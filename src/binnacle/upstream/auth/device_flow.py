"""Signs in with a code that a person types in on another device (RFC 8628)."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from binnacle.errors import UpstreamDown, UpstreamError
from binnacle.upstream.auth import oauth_requests, token_endpoint
from binnacle.upstream.auth.client_registration import DEVICE_GRANT
from binnacle.upstream.auth.grant import LoginGrant
from binnacle.upstream.auth.token_endpoint import TokenRefused
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.redaction import Redactor
from binnacle.upstream.transports.http_session import HttpSession
from binnacle.wire.hidden_text import make_visible

MIN_INTERVAL_SECONDS, USUAL_INTERVAL_SECONDS, SLOW_DOWN_SECONDS = 0.2, 5.0, 5.0
"""Seconds between two polls, unless the server says otherwise, and what is added each time it says "slow down"."""

MAX_WAIT_SECONDS = 600.0
"""Seconds that a person has, whatever the authorization server says."""


class _Started(Struct):
    device_code: str = ""
    user_code: str = ""
    verification_uri: str = ""
    verification_uri_complete: str | None = None
    expires_in: float = MAX_WAIT_SECONDS
    interval: float | None = None
    error: str | None = None
    error_description: Any = None


async def sign_in_by_device(
    http: HttpSession,
    grant: LoginGrant,
    endpoint: str,
    *,
    near: ServerConfig,
    show: Callable[[str], None],
    redactor: Redactor,
) -> LoginGrant:
    """Shows the person a code and waits until they have typed it in.

    Raises:
        TokenRefused: they declined, or did not do it in time.
        UpstreamDown: the authorization server cannot be reached.
    """
    started = await _start(http, grant, endpoint, near=near, redactor=redactor)
    page, code = make_visible(started.verification_uri), make_visible(started.user_code)
    show(f"On any device, open {page} and enter this code: {code}")
    if started.verification_uri_complete:
        show(f"Or open {make_visible(started.verification_uri_complete)}")
    form = {"grant_type": DEVICE_GRANT, "device_code": started.device_code}
    interval = USUAL_INTERVAL_SECONDS if started.interval is None else max(MIN_INTERVAL_SECONDS, started.interval)
    until = time.monotonic() + min(started.expires_in, MAX_WAIT_SECONDS)
    while time.monotonic() < until:
        await asyncio.sleep(interval)
        try:
            return await token_endpoint.ask(http, grant, form, near=near, redactor=redactor)
        except UpstreamDown:
            interval *= 2  # as the RFC says: the network may come back while the code is still valid
        except TokenRefused as refusal:
            if refusal.error == "slow_down":
                interval += SLOW_DOWN_SECONDS
            elif refusal.error != "authorization_pending":
                raise
    raise TokenRefused("expired_token", "the code was not entered in time")


async def _start(
    http: HttpSession, grant: LoginGrant, endpoint: str, *, near: ServerConfig, redactor: Redactor
) -> _Started:
    headers, identity = token_endpoint.client_authentication(grant.client)
    form = {"resource": grant.resource, "client_id": grant.client.id, **identity}
    if grant.scopes:
        form["scope"] = " ".join(grant.scopes)
    answer = await oauth_requests.post(http, endpoint, what="device login", near=near, form=form, headers=headers)
    found = answer.decode(_Started)
    if found is not None and found.error:
        raise TokenRefused(*token_endpoint.describe_refusal(found.error or "", found.error_description, redactor))
    if answer.status != 200 or found is None or not (found.device_code and found.user_code and found.verification_uri):
        raise UpstreamError(f"the device login answered {answer.status} and no code", hint="sign in without it")
    redactor.add("device_code", found.device_code)
    return found
