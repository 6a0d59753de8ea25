package marker_test

import (
	"fmt"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/marker"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/store/opencodedb"
)

// The pipeline recognises a marker by its provider, which package opencodedb writes.
func TestPipelineKnowsOurMarkers(t *testing.T) {
	if pipeline.MarkerProvider != opencodedb.Provider {
		t.Errorf("the pipeline looks for %q, the rows name %q", pipeline.MarkerProvider, opencodedb.Provider)
	}
}

func at(home string) marker.OpenCode {
	return marker.OpenCode{Env: func(name string) string { return map[string]string{"HOME": home}[name] }}
}

// Removing a marker must not fail if the session is gone, or if the harness has
// never run.
func TestRemoveWithoutAnything(t *testing.T) {
	home := t.TempDir()
	if n, err := at(home).RemoveAll(t.Context()); n != 0 || err != nil {
		t.Errorf("without a database: %d, %v", n, err)
	}
	rawhistorytest.NewOpenCode(t, home)
	if err := at(home).Remove(t.Context(), "ses_gone"); err != nil {
		t.Errorf("without the session: %v", err)
	}
	if isWhole, err := at(home).IsWhole(t.Context(), "ses_gone", "m1"); isWhole || err != nil {
		t.Errorf("without the session: %v, %v", isWhole, err)
	}
}

func talked(db *rawhistorytest.OpenCode, session string) {
	var all []json.Value
	for i, more := range []string{`"role":"user"`, `"role":"assistant","finish":"stop"`, `"role":"user"`, `"role":"assistant","finish":"stop"`} {
		all = append(all, json.Value(fmt.Sprintf(`{"info":{"id":"%s-%d","time":{"created":%d},%s},"parts":[]}`, session, i, 1000*i, more)))
	}
	db.Add(session, all)
}

func mark(t *testing.T, home, session string) (boundary string) {
	t.Helper()
	boundary, err := at(home).Set(t.Context(), session, session+"-3")
	if boundary != session+"-2" || err != nil {
		t.Fatalf("%s: boundary %s, %v", session, boundary, err)
	}
	if isWhole, err := at(home).IsWhole(t.Context(), session, boundary); !isWhole || err != nil {
		t.Errorf("%s is not marked: %v", session, err)
	}
	return boundary
}

// A marker that has lost some of its rows is not whole. Its other rows can still be
// removed.
func TestTornMarkerIsNotWhole(t *testing.T) {
	for name, sql := range map[string]string{
		"no summary":         `DELETE FROM message WHERE data LIKE '%"magicctx"%'`,
		"no compaction part": `DELETE FROM part WHERE data LIKE '%"compaction"%'`,
		"no summary text":    `DELETE FROM part WHERE data LIKE '%by magicctx%'`,
	} {
		home := t.TempDir()
		db := rawhistorytest.NewOpenCode(t, home)
		talked(db, "ses_1")
		boundary := mark(t, home, "ses_1")
		db.Exec(sql)
		if isWhole, err := at(home).IsWhole(t.Context(), "ses_1", boundary); isWhole || err != nil {
			t.Errorf("%s: whole %t, %v", name, isWhole, err)
		}
		if err := at(home).Remove(t.Context(), "ses_1"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := at(home).RemoveAll(t.Context()); left != 0 || err != nil {
			t.Errorf("%s: %d markers are left, %v", name, left, err)
		}
	}
}

func TestRemoveAllFindsEachSession(t *testing.T) {
	home := t.TempDir()
	db := rawhistorytest.NewOpenCode(t, home)
	for _, s := range []string{"ses_1", "ses_2", "ses_3"} {
		talked(db, s)
	}
	for _, s := range []string{"ses_1", "ses_2"} {
		mark(t, home, s)
	}
	if n, err := at(home).RemoveAll(t.Context()); n != 2 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	if isWhole, err := at(home).IsWhole(t.Context(), "ses_1", "ses_1-2"); isWhole || err != nil {
		t.Errorf("still marked, %v", err)
	}
}
