#!/bin/sh
# Stops what runs, when the package goes and not when it is replaced.
set -e
if [ -d /run/systemd/system ] && { [ "$1" = remove ] || [ "$1" = 0 ]; }; then
	systemctl --no-reload disable --now fenceline.service 'fenceline-worker@*.service' || true
fi
