package rawhistory_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/internal/regular"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/opencodedb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const session = "ses_1"

// The variables in more have the form "NAME=value".
func at(home string, more ...string) rawhistory.Reader {
	return rawhistory.Reader{Env: func(name string) string {
		for _, entry := range more {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value
			}
		}
		if name == "HOME" {
			return home
		}
		return ""
	}}
}

func read(t testing.TB, r rawhistory.Reader, s rawhistory.Session, start, end int) ([]rawhistory.Message, rawhistory.Extent) {
	t.Helper()
	var all []rawhistory.Message
	extent, err := r.Read(t.Context(), s, start, end, func(m rawhistory.Message) bool { all = append(all, m); return true })
	if err != nil {
		t.Fatal(err)
	}
	return all, extent
}

func ofOpenCode() rawhistory.Session {
	return rawhistory.Session{Harness: schema.HarnessOpenCode, ID: session}
}

func ofPi() rawhistory.Session {
	return rawhistory.Session{Harness: schema.HarnessPi, ID: session, Directory: "/p"}
}

// An unreadable message has the key "?".
func keys(all []rawhistory.Message) string {
	var words []string
	for _, m := range all {
		key := "?"
		if m.Decoded != nil {
			key = m.Decoded.Key
		}
		words = append(words, fmt.Sprintf("%d=%s", m.Ordinal, key))
	}
	return strings.Join(words, " ")
}

func ocUser(id, text string, created int) json.Value {
	return json.Value(fmt.Sprintf(`{"info":{"id":%q,"sessionID":"ses_1","role":"user","time":{"created":%d}},"parts":[{"id":"prt_%s","sessionID":"ses_1","messageID":%q,"type":"text","text":%q}]}`, id, created, id, id, text))
}

func TestOpenCodeMessagesComeByOrdinal(t *testing.T) {
	home := t.TempDir()
	db := rawhistorytest.NewOpenCode(t, home)
	// The ids are in another order than the times. The reader sorts by time.
	db.Add(session, []json.Value{ocUser("m9", "one", 1), ocUser("m1", "two", 2), ocUser("m5", "three", 3), ocUser("m6", "four", 3)})
	db.Add("ses_2", []json.Value{ocUser("other", "not mine", 1)})
	all, extent := read(t, at(home), ofOpenCode(), 2, 3)
	if got := keys(all); got != "2=m1 3=m5" || extent.First != 1 || extent.Last != 4 || extent.Path != db.Path {
		t.Errorf("%s, %+v", got, extent)
	}
	if got := all[0].Decoded.Parts[0]; got.Text != "two" || got.ID != "prt_m1" {
		t.Errorf("%+v", got)
	}
}

// A finished summary of OpenCode has no ordinal. All other rows have one: a row with broken JSON, an unfinished
// summary, and a user's message that is marked as a summary.
func TestOpenCodeSlots(t *testing.T) {
	home := t.TempDir()
	db := rawhistorytest.NewOpenCode(t, home)
	db.Add(session, []json.Value{ocUser("m1", "one", 1)})
	db.AddRow(session, "m2", 2, `{"role":"user"`)
	db.AddRow(session, "m3", 3, `{"role":"assistant","summary":true,"finish":"stop","time":{"created":3}}`)
	db.AddRow(session, "m4", 4, `{"role":"assistant","summary":true,"time":{"created":4}}`)
	db.AddRow(session, "m5", 5, `{"role":"user","summary":{"diffs":[]},"finish":"stop","time":{"created":5}}`)
	db.AddRow(session, "m6", 6, `[]`)
	all, extent := read(t, at(home), ofOpenCode(), 1, 99)
	if got := keys(all); got != "1=m1 2=? 3=m4 4=m5 5=?" || extent.Last != 5 {
		t.Errorf("%s, %+v", got, extent)
	}
}

func TestOpenCodeDatabaseIsFound(t *testing.T) {
	home := t.TempDir()
	db := rawhistorytest.NewOpenCode(t, home)
	db.Add(session, []json.Value{ocUser("m1", "one", 1)})
	data := filepath.Dir(db.Path)
	// A build of another release channel has a separate database.
	elsewhere := t.TempDir()
	dev := rawhistorytest.NewOpenCode(t, elsewhere)
	dev.Add("ses_dev", []json.Value{ocUser("d1", "dev", 1)})
	dev.Exec(fmt.Sprintf(`VACUUM INTO '%s'`, filepath.Join(data, "opencode-dev.db")))

	for _, c := range []struct {
		name    string
		env     []string
		session string
		want    string // the store that holds the session, empty for an unknown session
	}{
		{"home", []string{"HOME=" + home}, session, "1=m1"},
		{"XDG_DATA_HOME", []string{"HOME=/nowhere", "XDG_DATA_HOME=" + filepath.Dir(data)}, session, "1=m1"},
		{"another channel", []string{"HOME=" + home}, "ses_dev", "1=d1"},
		{"OPENCODE_DB, absolute", []string{"HOME=" + home, "OPENCODE_DB=" + dev.Path}, "ses_dev", "1=d1"},
		{"OPENCODE_DB, relative", []string{"HOME=" + home, "OPENCODE_DB=opencode-dev.db"}, "ses_dev", "1=d1"},
		{"OPENCODE_DB holds another", []string{"HOME=" + home, "OPENCODE_DB=" + dev.Path}, session, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := rawhistory.Session{Harness: schema.HarnessOpenCode, ID: c.session}
			if c.want == "" {
				_, err := at("", c.env...).Read(t.Context(), s, 1, 9, nil)
				if !errors.Is(err, rawhistory.ErrUnknownSession) || !strings.Contains(err.Error(), "OPENCODE_DB") {
					t.Errorf("error %v", err)
				}
				return
			}
			if all, _ := read(t, at("", c.env...), s, 1, 9); keys(all) != c.want {
				t.Errorf("%s, want %s", keys(all), c.want)
			}
		})
	}
}

// OpenCode may write while the reader reads. The reader sees the state of one moment, and does not block OpenCode.
func TestOpenCodeWritesMeanwhile(t *testing.T) {
	home := t.TempDir()
	db := rawhistorytest.NewOpenCode(t, home)
	db.Add(session, []json.Value{ocUser("m1", "one", 1), ocUser("m2", "two", 2)})
	var all []rawhistory.Message
	_, err := at(home).Read(t.Context(), ofOpenCode(), 1, 9, func(m rawhistory.Message) bool {
		db.Exec(`DELETE FROM message`)
		all = append(all, m)
		return true
	})
	if err != nil || keys(all) != "1=m1 2=m2" {
		t.Errorf("%s, %v", keys(all), err)
	}
}

func TestReaderEndsWithItsContext(t *testing.T) {
	home := t.TempDir()
	rawhistorytest.NewOpenCode(t, home).Add(session, []json.Value{ocUser("m1", "one", 1), ocUser("m2", "two", 2)})
	p := rawhistorytest.NewPi(t, home, session)
	p.Message(json.Value(`{"role":"user","content":"a","timestamp":1}`))
	p.Message(json.Value(`{"role":"user","content":"b","timestamp":2}`))
	for _, s := range []rawhistory.Session{ofOpenCode(), ofPi()} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		_, err := at(home).Read(ctx, s, 1, 9, func(rawhistory.Message) bool { n++; cancel(); return true })
		if !errors.Is(err, context.Canceled) || n != 1 {
			t.Errorf("%s: %d messages, error %v", s.Harness, n, err)
		}
	}
}

func TestLinksAreRefused(t *testing.T) {
	home := t.TempDir()
	db := rawhistorytest.NewOpenCode(t, home)
	db.Add(session, nil)
	link := filepath.Join(t.TempDir(), "opencode.db")
	must(t, os.Symlink(db.Path, link))
	if _, err := at(home, "OPENCODE_DB="+link).Read(t.Context(), ofOpenCode(), 1, 1, nil); !errors.Is(err, regular.ErrNotRegular) {
		t.Errorf("error %v", err)
	}
	p := rawhistorytest.NewPi(t, home, session)
	must(t, os.Rename(p.Path, p.Path+".real"))
	must(t, os.Symlink(p.Path+".real", p.Path))
	if _, err := at(home).Read(t.Context(), ofPi(), 1, 1, nil); !errors.Is(err, regular.ErrNotRegular) {
		t.Errorf("error %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The reader must give each message the same ordinal, key and content as the host finds in the shim's array.
func TestOpenCodeReaderAgreesWithTheCodec(t *testing.T) {
	codec := transcript.OpenCode{}
	n := 0
	home := t.TempDir()
	db := rawhistorytest.NewOpenCode(t, home)
	rapid.Check(t, func(rt *rapid.T) {
		n++
		id := fmt.Sprintf("ses_r%d", n)
		array := openCodeArrays(id).Draw(rt, "array")
		db.Add(id, array)
		all, extent := read(t, at(home), rawhistory.Session{Harness: schema.HarnessOpenCode, ID: id}, 1, 1<<30)
		want := slices.DeleteFunc(slices.Clone(array), func(raw json.Value) bool {
			m := codec.Decode(raw)
			return m.Role == transcript.Assistant && m.Summary && m.Finish == transcript.EndsTurn
		})
		if len(all) != len(want) || extent.Last != len(want) {
			rt.Fatalf("%d messages, extent %+v, want %d", len(all), extent, len(want))
		}
		for i, raw := range want {
			sameMessage(rt, i+1, all[i], codec.Decode(raw))
		}
	})
}

func sameMessage(t *rapid.T, ordinal int, got rawhistory.Message, want transcript.Message) {
	if got.Decoded == nil {
		t.Fatalf("message %d is unreadable", ordinal)
	}
	if got.Ordinal != ordinal || fmt.Sprintf("%+v", *got.Decoded) != fmt.Sprintf("%+v", want) {
		t.Fatalf("message %d:\n%+v\nwant:\n%+v", got.Ordinal, *got.Decoded, want)
	}
}

// openCodeArrays generates arrays in the form in which OpenCode gives them to its message hook.
func openCodeArrays(session string) *rapid.Generator[[]json.Value] {
	return rapid.Custom(func(t *rapid.T) (array []json.Value) {
		created := 1
		for i := range rapid.IntRange(0, 8).Draw(t, "messages") {
			created += rapid.IntRange(0, 2).Draw(t, "pause")
			id := fmt.Sprintf("msg_%s_%03d", session, i)
			info := fmt.Sprintf(`"id":%q,"sessionID":%q,"time":{"created":%d}`, id, session, created)
			info += rapid.SampledFrom([]string{
				`,"role":"user","model":{"providerID":"p","modelID":"m"}`, `,"role":"user","summary":{"diffs":[{"file":"a"}]}`,
				`,"role":"assistant","finish":"stop"`, `,"role":"assistant","finish":"tool-calls","tokens":{"input":5,"output":1,"cache":{"read":2,"write":0}}`,
				`,"role":"assistant","summary":true,"finish":"stop"`, `,"role":"assistant","summary":true`, `,"role":"assistant","error":{"name":"MessageAbortedError"}`,
			}).Draw(t, "info")
			var parts []string
			for k := range rapid.IntRange(0, 3).Draw(t, "parts") {
				text, _ := json.Marshal(rapid.String().Draw(t, "text"))
				parts = append(parts, fmt.Sprintf(`{"id":"prt_%s_%03d_%d","sessionID":%q,"messageID":%q,`, session, i, k, session, id)+fmt.Sprintf(rapid.SampledFrom([]string{
					`"type":"text","text":%s}`, `"type":"reasoning","text":%s,"metadata":{"anthropic":{"signature":"s"}}}`, `"type":"step-start","snapshot":%s}`,
					`"type":"tool","callID":"c","tool":"read","state":{"status":"completed","input":{"a":1},"output":%s,"time":{"start":1}}}`,
					`"type":"tool","callID":"c","tool":"read","state":{"status":"completed","input":{},"output":%s,"time":{"compacted":7}}}`,
					`"type":"from-tomorrow","x":%s}`,
				}).Draw(t, "part"), text))
			}
			array = append(array, json.Value(`{"info":{`+info+`},"parts":[`+strings.Join(parts, ",")+`]}`))
		}
		return array
	})
}

func TestOpenCodeDatabaseThatCannotBeRead(t *testing.T) {
	write := func(t *testing.T, home, content string) {
		t.Helper()
		path := filepath.Join(home, ".local", "share", "opencode", "opencode.db")
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(content), 0o600))
	}
	for _, c := range []struct {
		name  string
		lay   func(t *testing.T, home string)
		is    error
		wants string
	}{
		{"missing", func(t *testing.T, home string) {}, nil, "OpenCode has no database in"},
		{"empty", func(t *testing.T, home string) { write(t, home, "") }, opencodedb.ErrForeign, "session.id"},
		{"no database", func(t *testing.T, home string) { write(t, home, strings.Repeat("no database ", 100)) }, opencodedb.ErrForeign, "opencode.db"},
		{"another schema", func(t *testing.T, home string) {
			rawhistorytest.NewOpenCode(t, home).Exec(`ALTER TABLE part RENAME COLUMN data TO body`)
		}, opencodedb.ErrForeign, "it has no part.data"},
		{"locked", func(t *testing.T, home string) {
			db := rawhistorytest.NewOpenCode(t, home)
			db.Add(session, nil)
			db.Exec(`PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM message`)
		}, opencodedb.ErrBusy, "try again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			c.lay(t, home)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := at(home).Read(ctx, ofOpenCode(), 1, 1, nil)
			if err == nil || !strings.Contains(err.Error(), c.wants) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %v, want %q", err, c.wants)
			}
		})
	}
}

func TestMissingNamesTheMessagesThatThereAre(t *testing.T) {
	e := rawhistory.Extent{First: 3, Last: 9}
	for _, c := range []struct {
		extent     rawhistory.Extent
		start, end int
		want       string
	}{
		{rawhistory.Extent{}, 1, 1, "this session has no messages yet"},
		{e, 1, 2, "there are no messages 1 to 2; messages 3 to 9 can be shown"},
		{e, 10, 10, "there is no message 10; messages 3 to 9 can be shown"},
		{e, 4, 5, "messages 4 to 5 were deleted; messages 3 to 9 can be shown"},
		{e, 4, 4, "message 4 was deleted; messages 3 to 9 can be shown"},
	} {
		if got := c.extent.Missing(c.start, c.end).Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
