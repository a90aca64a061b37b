#!/bin/sh
# Makes the service's user; starts nothing.
set -e
if ! getent passwd fenceline >/dev/null; then
	if command -v adduser >/dev/null; then
		adduser --system --group --quiet --home /var/lib/fenceline --no-create-home fenceline
	else
		useradd --system --user-group --home-dir /var/lib/fenceline --shell /usr/sbin/nologin fenceline
	fi
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
