package rig

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// tick is the kernel's unit of processor time (USER_HZ), the same on all Linux.
const tick = time.Second / 100

// stat is what proc(5) says of a process.
type stat struct {
	parent      int
	own, reaped time.Duration // its CPU time, and that of its children that ended
}

func statOf(pid int) (stat, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	// The name in parentheses may hold anything; the fields after it begin
	// with the third, the state.
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 15 {
		return stat{}, fmt.Errorf("/proc/%d/stat is cut short", pid)
	}
	var n [15]int64
	for i := 1; i < len(n); i++ {
		n[i], _ = strconv.ParseInt(f[i], 10, 64)
	}
	return stat{int(n[1]), time.Duration(n[11]+n[12]) * tick, time.Duration(n[13]+n[14]) * tick}, nil
}

// cpu is a process's processor time.
func cpu(pid int) (time.Duration, error) {
	s, err := statOf(pid)
	return s.own, err
}

// cpuOfTree is that of a process, its children, and those that have ended. A
// child that ends while it looks would be in neither sum, so it looks again.
func cpuOfTree(pid int) (time.Duration, error) {
	for {
		before, err := statOf(pid)
		if err != nil {
			return 0, err
		}
		children, err := cpuOfChildren(pid)
		if err != nil {
			return 0, err
		}
		after, err := statOf(pid)
		if err != nil || after.reaped == before.reaped {
			return after.own + after.reaped + children, err
		}
	}
}

func cpuOfChildren(pid int) (sum time.Duration, err error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, d := range dirs {
		child, err := strconv.Atoi(filepath.Base(d))
		if err != nil {
			continue
		}
		if s, err := statOf(child); err == nil && s.parent == pid {
			sum += s.own
		}
	}
	return sum, nil
}

// memory returns a process's resident bytes, now and at their peak.
func memory(pid int) (now, peak int64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	return kilobytes(string(b), "VmRSS:"), kilobytes(string(b), "VmHWM:"), nil
}

func kilobytes(status, field string) int64 {
	_, rest, _ := strings.Cut(status, field)
	n, _ := strconv.ParseInt(strings.TrimSpace(strings.SplitN(rest, "kB", 2)[0]), 10, 64)
	return n << 10
}

// Machine says where and when something was measured.
func Machine() string {
	model := "unknown processor"
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	return fmt.Sprintf("%s, %d cores of %s, %s, load average %.4s", time.Now().UTC().Format("2 January 2006 15:04 UTC"),
		runtime.NumCPU(), model, runtime.Version(), load)
}

// Usage is what a process has taken: its processor time, and its resident bytes, now and at
// their peak.
type Usage struct {
	CPU            time.Duration
	Resident, Peak int64
}

// UsageOf returns what a process has taken.
func UsageOf(pid int) (u Usage, err error) {
	if u.CPU, err = cpu(pid); err == nil {
		u.Resident, u.Peak, err = memory(pid)
	}
	return u, err
}
