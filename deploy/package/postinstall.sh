#!/bin/sh
# After an install or an upgrade: the unit is read again, and a running cronce is
# restarted. It is not started: it needs a registry first.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# A cronce that cannot start, since its database is down, must not leave the package half installed.
	systemctl try-restart cronce.service || echo "cronce: the restart failed; see: journalctl -u cronce"
fi
if [ ! -e /etc/cronce/cronce.yaml ]; then
	echo "cronce: write /etc/cronce/cronce.yaml (an example: /usr/share/doc/cronce/cronce.yaml), then: systemctl enable --now cronce"
fi
