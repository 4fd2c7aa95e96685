package ledgertest

import (
	"errors"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var membershipCases = []rowsCase{
	{"a ledger keeps the name of its first registry", func(t *table) {
		for _, name := range []string{"first", "second", "first"} {
			same(t, "owner", ask(t, func(tx ledger.Tx) ledger.Future[string] { return tx.BindRegistry(name) }), "first")
		}
	}},
	{"processes are written, beat and deleted", func(t *table) {
		b := ledger.ProcessRow{ID: "b", Version: "v1", HeartbeatAt: pastHour, Host: "h", Program: "1.0"}
		a := ledger.ProcessRow{ID: "a", Version: "v2", HeartbeatAt: pastHour}
		t.processes(func(tx ledger.Tx) error { return tx.PutProcess(b) }, b)
		t.processes(func(tx ledger.Tx) error { return tx.PutProcess(a) }, a, b)
		a.Version, b.HeartbeatAt = "v3", pastHour.Add(time.Second)
		t.processes(func(tx ledger.Tx) error { return tx.PutProcess(a) }, a,
			ledger.ProcessRow{ID: "b", Version: "v1", HeartbeatAt: pastHour, Host: "h", Program: "1.0"})
		t.processes(func(tx ledger.Tx) error { return tx.SetHeartbeats([]string{"b", "unknown"}, b.HeartbeatAt) }, a, b)
		t.processes(func(tx ledger.Tx) error { return tx.DeleteProcess("a") }, b)
		t.processes(func(tx ledger.Tx) error { return tx.DeleteProcess("a") }, b)
	}},
	{"the definitions of a version are read in pages, in the order of their jobs", func(t *table) {
		t.putDefinitions("v1", "c1", "a1", "b1")
		t.putDefinitions("v2", "b2")
		same(t, "first", t.declared("v1", "", 2), "a1 b1")
		same(t, "next", t.declared("v1", "b", 2), "c1")
		same(t, "last", t.declared("v1", "c", 2), "")
		same(t, "other version", t.declared("v2", "", 9), "b2")
	}},
	{"a new definition is the last of its job, and a known one stays where it is", func(t *table) {
		t.putDefinitions("v1", "j1")
		t.putDefinitions("v2", "j2")
		t.putDefinitions("v3", "j1")
		one, two, again := t.definition("v1"), t.definition("v2"), t.definition("v3")
		if two.Order <= one.Order || again != one {
			t.Errorf("%+v, %+v, %+v", one, two, again)
		}
	}},
	{"the bodies of definitions are those that were declared first", func(t *table) {
		t.putDefinitions("v1", "a1", "b1")
		list := []ledger.Definition{{JobID: "a", Hash: "a1"}, {JobID: "b", Hash: "unknown"}}
		bodies := ask(t, func(tx ledger.Tx) ledger.Future[map[string][]byte] { return tx.Bodies(list) })
		same(t, "bodies", bodies, map[string][]byte{"a": []byte(`{"hash":"a1"}`)})
	}},
	{"definitions are counted for the versions that processes declare", func(t *table) {
		t.putDefinitions("v1", "a1", "b1")
		t.putDefinitions("v2", "a1")
		t.processes(func(tx ledger.Tx) error {
			return tx.PutProcess(ledger.ProcessRow{ID: "p", Version: "v1", HeartbeatAt: pastHour})
		},
			ledger.ProcessRow{ID: "p", Version: "v1", HeartbeatAt: pastHour})
		same(t, "counts", ask(t, func(tx ledger.Tx) ledger.Future[map[string]int] { return tx.CountDefinitions() }), map[string]int{"v1": 2})
	}},
	{"the last lease is that of an unfinished run, and running runs are counted by process", func(t *table) {
		late := inState(ledger.Succeeded, runAt("j", 9))
		late.LeasedAt = runAt("j", 30).ScheduledAt
		t.insert(inState(ledger.Running, runAt("j", 3)), inState(ledger.Running, runAt("j", 5)), late, runAt("j", 20))
		last := ask(t, func(tx ledger.Tx) ledger.Future[time.Time] { return tx.LastLease() })
		same(t, "last lease", last, runAt("j", 5).ScheduledAt)
		same(t, "running", ask(t, func(tx ledger.Tx) ledger.Future[map[string]int] { return tx.CountRunning() }), map[string]int{"p": 2})
	}},
	{"jobs are read in pages, and their bodies by ID", func(t *table) {
		for _, id := range []string{"c", "a", "b"} {
			row := ledger.JobRow{Position: ledger.Position{JobID: id, Revision: 1, Watermark: pastHour}, Hash: id + "1", Body: []byte(id)}
			t.putJob(ledger.JobChange{JobRow: row, Set: ledger.JobColRevision})
		}
		var pages []string
		for _, after := range []string{"", "b", "c"} {
			for _, j := range ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.JobRow] { return tx.JobsAfter(after, 2) }) {
				pages = append(pages, j.JobID+j.Hash)
			}
			pages = append(pages, "|")
		}
		same(t, "pages", strings.Join(pages, " "), "aa1 bb1 | cc1 | |")
		bodies := ask(t, func(tx ledger.Tx) ledger.Future[map[string][]byte] { return tx.JobBodies([]string{"a", "unknown"}) })
		same(t, "bodies", bodies, map[string][]byte{"a": []byte("a")})
	}},
	{"a transaction that fails leaves no process and no definition", func(t *table) {
		failed := t.Write(t.Context(), "test", func(tx ledger.Tx) error {
			tx.BindRegistry("r")
			if err := tx.PutProcess(ledger.ProcessRow{ID: "p", Version: "v1", HeartbeatAt: pastHour}); err != nil {
				return err
			}
			if err := tx.PutDefinitions("v1", []ledger.Definition{{JobID: "j", Hash: "j1"}}); err != nil {
				return err
			}
			return errors.New("failed")
		})
		if failed == nil {
			t.Error("no error")
		}
		t.processes(func(ledger.Tx) error { return nil })
		same(t, "definitions", t.declared("v1", "", 9), "")
		same(t, "owner", ask(t, func(tx ledger.Tx) ledger.Future[string] { return tx.BindRegistry("other") }), "other")
	}},
}

// processes runs f in a transaction, and checks which processes there are then.
func (t *table) processes(f func(ledger.Tx) error, want ...ledger.ProcessRow) {
	t.Helper()
	t.write(f)
	list := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.ProcessRow] { return tx.Processes() })
	if len(list) != len(want) {
		t.Fatalf("%+v, want %+v", list, want)
	}
	for i := range want {
		same(t, "process", list[i], want[i])
	}
}

// putDefinitions adds definitions, whose hashes are their job's letter and a number, to a version.
func (t *table) putDefinitions(version string, hashes ...string) {
	t.Helper()
	var list []ledger.Definition
	for _, h := range hashes {
		list = append(list, ledger.Definition{JobID: h[:1], Hash: h, Body: []byte(`{"hash":"` + h + `"}`)})
	}
	t.write(func(tx ledger.Tx) error { return tx.PutDefinitions(version, list) })
}

// declared returns the hashes of a page.
func (t *table) declared(version, after string, limit int) string {
	t.Helper()
	var hashes []string
	for _, d := range ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.JobDefinition] { return tx.Declared(version, after, limit) }) {
		hashes = append(hashes, d.Hash)
	}
	return strings.Join(hashes, " ")
}

// definition returns the only one of a version.
func (t *table) definition(version string) ledger.JobDefinition {
	t.Helper()
	list := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.JobDefinition] { return tx.Declared(version, "", 9) })
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	return list[0]
}
