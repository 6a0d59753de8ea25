package rawhistorytest

import (
	_ "embed"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/json"
)

//go:embed opencode.sql
var openCodeSchema string

type OpenCode struct {
	t    testing.TB
	Path string
	conn *sqlite3.Conn
}

// NewOpenCode creates OpenCode's database in a home directory. Like a running OpenCode, it keeps its connection
// open until the test ends.
func NewOpenCode(t testing.TB, home string) *OpenCode {
	t.Helper()
	o := openDatabase(t, home)
	o.Exec(openCodeSchema)
	return o
}

func openDatabase(t testing.TB, home string) *OpenCode {
	t.Helper()
	o := &OpenCode{t: t, Path: filepath.Join(home, ".local", "share", "opencode", "opencode.db")}
	o.must(os.MkdirAll(filepath.Dir(o.Path), 0o700))
	var err error
	o.conn, err = sqlite3.Open(o.Path)
	o.must(err)
	o.must(o.conn.BusyTimeout(10 * time.Second)) // a host that writes a marker holds the lock for a moment
	t.Cleanup(func() { o.must(o.conn.Close()) })
	return o
}

func (o *OpenCode) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *OpenCode) Exec(sql string) {
	o.t.Helper()
	o.must(o.conn.Exec(sql))
}

// Add takes messages in the form of OpenCode's message hook. It stores them as OpenCode does: without their
// ids, and with separate rows for their parts.
func (o *OpenCode) Add(session string, messages []json.Value) {
	o.t.Helper()
	o.Exec(`BEGIN`)
	o.insert(`INSERT INTO session VALUES (?, '/p', 'A session', 1, 1)`, session)
	for _, raw := range messages {
		var m struct {
			Info  json.Value   `json:"info"`
			Parts []json.Value `json:"parts"`
		}
		var info struct {
			ID   string `json:"id"`
			Time struct {
				Created int64 `json:"created"`
			} `json:"time"`
		}
		o.must(json.Unmarshal(raw, &m))
		o.must(json.Unmarshal(m.Info, &info))
		o.AddRow(session, info.ID, info.Time.Created, o.without(m.Info, "id", "sessionID"))
		for _, part := range m.Parts {
			var p struct {
				ID string `json:"id"`
			}
			o.must(json.Unmarshal(part, &p))
			o.insert(`INSERT INTO part VALUES (?, ?, ?, 1, 1, ?)`, p.ID, info.ID, session, o.without(part, "id", "sessionID", "messageID"))
		}
	}
	o.Exec(`COMMIT`)
}

// `data` may be any text, even invalid JSON.
func (o *OpenCode) AddRow(session, id string, created int64, data string) {
	o.t.Helper()
	o.insert(`INSERT INTO message VALUES (?, ?, ?, 1, ?)`, id, session, created, data)
}

func (o *OpenCode) insert(sql string, args ...any) {
	o.t.Helper()
	stmt, _, err := o.conn.Prepare(sql)
	o.must(err)
	defer stmt.Close()
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			o.must(stmt.BindText(i+1, arg))
		case int64:
			o.must(stmt.BindInt64(i+1, arg))
		}
	}
	o.must(stmt.Exec())
}

func (o *OpenCode) without(object json.Value, gone ...string) string {
	o.t.Helper()
	var members map[string]json.Value
	o.must(json.Unmarshal(object, &members))
	for _, name := range gone {
		delete(members, name)
	}
	text, err := json.Marshal(members)
	o.must(err)
	return string(text)
}
