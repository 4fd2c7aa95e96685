package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cronce/cronce/deploy/test/bed"
)

// worstExposure is what "systemd-analyze security" may say of the unit, of 10:
// the rest is network access and file-system paths.
const worstExposure = 1.5

// unit writes the unit with a binary that is there.
func unit(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cronce.service")
	text := strings.ReplaceAll(string(bed.Read(t, "deploy/systemd/cronce.service")), "/usr/bin/cronce", bed.Binary(t))
	bed.Must(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestSystemdReadsTheUnit(t *testing.T) {
	analyze := bed.Tool(t, "systemd-analyze")
	out, err := bed.Try(t, []string{"SYSTEMD_LOG_LEVEL=warning"}, analyze, "verify", "--man=no", "--recursive-errors=no", unit(t))
	if err != nil || strings.Contains(out, "cronce.service") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestTheUnitIsHardened(t *testing.T) {
	out := bed.Run(t, nil, bed.Tool(t, "systemd-analyze"), "security", "--offline=true", "--no-pager", unit(t))
	found := regexp.MustCompile(`exposure level for cronce.service: ([0-9.]+)`).FindStringSubmatch(out)
	if found == nil {
		t.Fatal(out)
	}
	if level, err := strconv.ParseFloat(found[1], 64); err != nil || level > worstExposure {
		t.Errorf("exposure %s, want at most %v\n%s", found[1], worstExposure, out)
	}
}

var serviceSetting = regexp.MustCompile(`(?m)^([A-Za-z]+)=(.*)$`)

// The unit's times leave serve the time that it may take.
func TestTheUnitWaitsLongEnough(t *testing.T) {
	settings := map[string]string{}
	for _, s := range serviceSetting.FindAllStringSubmatch(string(bed.Read(t, "deploy/systemd/cronce.service")), -1) {
		settings[s[1]] = s[2]
	}
	for name, want := range map[string]string{
		"Type": "notify", "TimeoutStopSec": "60s", "WatchdogSec": "2min", "DynamicUser": "yes",
		// It applies to serve only: a check before it would be started again and again.
		"RestartPreventExitStatus": "2", "ExecStartPre": "",
	} {
		if settings[name] != want {
			t.Errorf("%s=%s, want %s", name, settings[name], want)
		}
	}
}
