package opencodedb_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/opencodedb"
)

// conversation returns n messages, alternately from the user and the model. For example, message 3 has the key
// m3 and the time 3000.
func conversation(n int) (all []json.Value) {
	for i := 1; i <= n; i++ {
		role, more := "user", ""
		if i%2 == 0 {
			role, more = "assistant", `,"finish":"stop"`
		}
		all = append(all, json.Value(fmt.Sprintf(
			`{"info":{"id":"m%d","sessionID":"ses_1","role":%q,"time":{"created":%d}%s},"parts":[{"id":"prt_%d","sessionID":"ses_1","messageID":"m%d","type":"text","text":"t%d"}]}`,
			i, role, 1000*i, more, i, i, i)))
	}
	return all
}

func rows(t testing.TB, path string) (all []string) {
	t.Helper()
	err := file.ReadOnly(context.Background(), path, func(c *sqlite3.Conn) error {
		return errors.Join(
			file.Scan(c, `SELECT id, session_id, time_created, time_updated, data FROM message ORDER BY id`, func(s *sqlite3.Stmt) {
				all = append(all, fmt.Sprint(s.ColumnText(0), "|", s.ColumnText(1), "|", s.ColumnInt64(2), "|", s.ColumnInt64(3), "|", s.ColumnText(4)))
			}),
			file.Scan(c, `SELECT id, message_id, session_id, time_created, time_updated, data FROM part ORDER BY id`, func(s *sqlite3.Stmt) {
				all = append(all, fmt.Sprint(s.ColumnText(0), "|", s.ColumnText(1), "|", s.ColumnText(2), "|", s.ColumnInt64(3), "|", s.ColumnInt64(4), "|", s.ColumnText(5)))
			}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The function `array` returns the keys of the messages that OpenCode would put into its array. The array ends with the
// newest message. It begins with the newest prompt that has both a compaction part and a finished summary.
func array(t testing.TB, path, session string) (keys []string) {
	t.Helper()
	type row struct {
		id, role, parent        string
		isSummary, isCompaction bool
	}
	var all []row
	err := file.ReadOnly(context.Background(), path, func(c *sqlite3.Conn) error {
		return file.Scan(c, `SELECT id, json_extract(data, '$.role'), coalesce(json_extract(data, '$.parentID'), ''),
			coalesce(json_extract(data, '$.summary') AND json_extract(data, '$.finish') IS NOT NULL AND json_extract(data, '$.error') IS NULL, 0),
			EXISTS (SELECT 1 FROM part p WHERE p.message_id = message.id AND json_extract(p.data, '$.type') = 'compaction')
			FROM message WHERE session_id = ? ORDER BY time_created, id`, func(s *sqlite3.Stmt) {
			all = append(all, row{s.ColumnText(0), s.ColumnText(1), s.ColumnText(2), s.ColumnBool(3), s.ColumnBool(4)})
		}, session)
	})
	if err != nil {
		t.Fatal(err)
	}
	summarised := map[string]bool{}
	for _, r := range slices.Backward(all) {
		keys = append(keys, r.id)
		if r.isSummary {
			summarised[r.parent] = true
		}
		if r.role == "user" && r.isCompaction && summarised[r.id] {
			break
		}
	}
	slices.Reverse(keys)
	return keys
}

func TestMarkWritesTheRowsOfACompaction(t *testing.T) {
	db := rawhistorytest.NewOpenCode(t, t.TempDir())
	db.Add("ses_1", conversation(8))
	before := rows(t, db.Path)
	m, err := opencodedb.Mark(t.Context(), db.Path, "ses_1", "m4")
	if err != nil {
		t.Fatal(err)
	}
	var added []string
	for _, r := range rows(t, db.Path) {
		if !slices.Contains(before, r) {
			added = append(added, r)
		}
	}
	want := []string{
		m.Summary + `|ses_1|3001|3001|{"role":"assistant","parentID":"m3","summary":true,"finish":"stop","mode":"compaction","agent":"compaction",` +
			`"path":{"cwd":"/p","root":"/p"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},` +
			`"modelID":"magicctx","providerID":"magicctx","time":{"created":3001,"completed":3001}}`,
		m.CompactionPart + `|m3|ses_1|3000|3000|{"type":"compaction","auto":true}`,
		m.SummaryPart + `|` + m.Summary + `|ses_1|3001|3001|{"type":"text","text":"` + opencodedb.Placeholder + `"}`,
	}
	if !slices.Equal(added, want) {
		t.Errorf("added\n%s\nwant\n%s", strings.Join(added, "\n"), strings.Join(want, "\n"))
	}
	// 3001 ms · 4096 + 1 is bb9001 in hexadecimal, and 3000 ms · 4096 + 1 is bb8001.
	for got, want := range map[string]string{m.Summary: `^msg_000000bb9001[0-9A-Za-z]{14}$`, m.CompactionPart: `^prt_000000bb8001[0-9A-Za-z]{14}$`, m.SummaryPart: `^prt_000000bb9002[0-9A-Za-z]{14}$`} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("id %s is not %s", got, want)
		}
	}
	if got := array(t, db.Path, "ses_1"); got[0] != "m3" || got[len(got)-1] != "m8" || len(got) != 7 {
		t.Errorf("array %v", got)
	}
	after := rows(t, db.Path)
	if again, err := opencodedb.Mark(t.Context(), db.Path, "ses_1", "m4"); err != nil || again != m || !slices.Equal(rows(t, db.Path), after) {
		t.Errorf("set again: %+v, %v", again, err)
	}
	if n, err := opencodedb.Unmark(t.Context(), db.Path, "ses_1"); n != 1 || err != nil || !slices.Equal(rows(t, db.Path), before) {
		t.Errorf("%d removed, %v; the rows are\n%s", n, err, strings.Join(rows(t, db.Path), "\n"))
	}
}

// Removing a marker restores each byte.
func TestMarkersAreMovedAndRemoved(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		db := rawhistorytest.NewOpenCode(t, t.TempDir())
		n := rapid.IntRange(3, 14).Draw(rt, "messages")
		db.Add("ses_1", conversation(n))
		before := rows(t, db.Path)
		for range rapid.IntRange(1, 4).Draw(rt, "moves") {
			through := rapid.IntRange(1, n).Draw(rt, "through")
			boundary := through - (through+1)%2
			m, err := opencodedb.Mark(t.Context(), db.Path, "ses_1", fmt.Sprintf("m%d", through))
			if boundary+1 > n { // the newest prompt has no answer yet
				if !errors.Is(err, opencodedb.ErrUnanswered) {
					rt.Fatalf("through %d of %d: %v", through, n, err)
				}
				continue
			}
			if err != nil || m.Boundary != fmt.Sprintf("m%d", boundary) {
				rt.Fatalf("through %d: %+v, %v", through, m, err)
			}
			if got := array(t, db.Path, "ses_1"); got[0] != m.Boundary || len(got) != n-boundary+2 {
				rt.Fatalf("through %d of %d: the array is %v", through, n, got)
			}
			if added := len(rows(t, db.Path)) - len(before); added != 3 {
				rt.Fatalf("%d rows more", added)
			}
		}
		if _, err := opencodedb.Unmark(t.Context(), db.Path, ""); err != nil || !slices.Equal(rows(t, db.Path), before) {
			rt.Fatalf("rows are left: %v", err)
		}
	})
}

func TestMarkRefusesAnotherShape(t *testing.T) {
	for name, sql := range map[string]string{
		"a newer OpenCode":  `INSERT INTO migration VALUES ('20990101000000_later', 1)`,
		"an older OpenCode": `DELETE FROM migration`,
		"no migrations":     `DROP TABLE migration`,
		"another column":    `ALTER TABLE part ADD COLUMN rank INTEGER`,
		"a trigger":         `CREATE TRIGGER t AFTER INSERT ON message BEGIN DELETE FROM part; END`,
		"a renamed column":  `ALTER TABLE message RENAME COLUMN data TO content`,
	} {
		t.Run(name, func(t *testing.T) {
			db := rawhistorytest.NewOpenCode(t, t.TempDir())
			db.Add("ses_1", conversation(8))
			db.Exec(sql)
			if _, err := opencodedb.Mark(t.Context(), db.Path, "ses_1", "m4"); !errors.Is(err, opencodedb.ErrShape) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestMarkRefusesABadPlace(t *testing.T) {
	db := rawhistorytest.NewOpenCode(t, t.TempDir())
	db.Add("ses_1", conversation(8))
	db.Exec(`INSERT INTO part VALUES ('prt_native', 'm3', 'ses_1', 1, 1, '{"type":"compaction","auto":false}')`)
	db.AddRow("ses_1", "m9", 9000, `{"role":"user"}`)
	before := rows(t, db.Path)
	for through, want := range map[string]error{"m4": opencodedb.ErrCompacted, "gone": opencodedb.ErrGone, "m9": opencodedb.ErrUnanswered} {
		if _, err := opencodedb.Mark(t.Context(), db.Path, "ses_1", through); !errors.Is(err, want) {
			t.Errorf("through %s: %v", through, err)
		}
	}
	if _, err := opencodedb.Mark(t.Context(), db.Path, "ses_2", "m4"); !errors.Is(err, opencodedb.ErrGone) {
		t.Errorf("another session: %v", err)
	}
	if _, err := opencodedb.Mark(t.Context(), db.Path+"x", "ses_1", "m4"); err == nil {
		t.Error("a database that is not there was created")
	}
	if got := rows(t, db.Path); !slices.Equal(got, before) {
		t.Errorf("rows\n%s", strings.Join(got, "\n"))
	}
}
