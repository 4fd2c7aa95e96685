#!/bin/sh
# After an install or an upgrade: the unit is read again, and a running cronce is
# restarted. It is not started: it needs a registry first.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart cronce.service
fi
if [ ! -e /etc/cronce/cronce.yaml ]; then
	echo "cronce: write /etc/cronce/cronce.yaml (an example: /usr/share/doc/cronce/cronce.yaml), then: systemctl enable --now cronce"
fi
