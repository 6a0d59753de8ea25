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

// The pipeline knows a marker by the provider that package opencodedb writes.
func TestPipelineKnowsOurMarkers(t *testing.T) {
	if pipeline.MarkerProvider != opencodedb.Provider {
		t.Errorf("the pipeline looks for %q, the rows name %q", pipeline.MarkerProvider, opencodedb.Provider)
	}
}

func at(home string) marker.OpenCode {
	return marker.OpenCode{Env: func(name string) string { return map[string]string{"HOME": home}[name] }}
}

// A session that is gone, and a harness that never ran, have no markers to remove.
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

func TestRemoveAllFindsEachSession(t *testing.T) {
	home := t.TempDir()
	db := rawhistorytest.NewOpenCode(t, home)
	for _, s := range []string{"ses_1", "ses_2", "ses_3"} {
		var all []json.Value
		for i, more := range []string{`"role":"user"`, `"role":"assistant","finish":"stop"`, `"role":"user"`, `"role":"assistant","finish":"stop"`} {
			all = append(all, json.Value(fmt.Sprintf(`{"info":{"id":"%s-%d","time":{"created":%d},%s},"parts":[]}`, s, i, 1000*i, more)))
		}
		db.Add(s, all)
	}
	for _, s := range []string{"ses_1", "ses_2"} {
		boundary, err := at(home).Set(t.Context(), s, s+"-3")
		if boundary != s+"-2" || err != nil {
			t.Fatalf("%s: boundary %s, %v", s, boundary, err)
		}
		if isWhole, err := at(home).IsWhole(t.Context(), s, boundary); !isWhole || err != nil {
			t.Errorf("%s is not marked: %v", s, err)
		}
	}
	if n, err := at(home).RemoveAll(t.Context()); n != 2 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	if isWhole, err := at(home).IsWhole(t.Context(), "ses_1", "ses_1-2"); isWhole || err != nil {
		t.Errorf("still marked, %v", err)
	}
}
