package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/store/storetest"
)

func TestWorkspacesAreChanged(t *testing.T) {
	s := serve(t).enter()
	storetest.Must(t, storetest.Open(t, s.dir).CommitPass(t.Context(), storetest.Commit(1)))
	for _, step := range []struct {
		change string
		status int
		want   string
	}{
		{`{"action":"set","name":"zoo","shares":["NAMING"]}`, http.StatusOK, `{"name":"zoo","shares":["NAMING"],"members":[]}`},
		{`{"action":"set","name":"zoo","shares":["zebra"]}`, http.StatusUnprocessableEntity, `"shares":["NAMING"]`},
		{`{"action":"set","name":"\u001b[2J"}`, http.StatusUnprocessableEntity, `"shares":["NAMING"]`},
		{`{"action":"join","name":"zoo","directory":"/etc"}`, http.StatusUnprocessableEntity, `"members":[]`},
		{`{"action":"join","name":"farm","directory":"` + storetest.Directory + `"}`, http.StatusUnprocessableEntity, `"members":[]`},
		{`{"action":"join","name":"zoo","directory":"` + storetest.Directory + `"}`, http.StatusOK, `{"project":"` + storetest.Project + `","name":"project"}`},
		{`{"action":"leave","project":"git:0000000"}`, http.StatusUnprocessableEntity, `"name":"project"`},
		{`{"action":"leave","project":"` + storetest.Project + `"}`, http.StatusOK, `"members":[]`},
		{`{"action":"burn","name":"zoo"}`, http.StatusUnprocessableEntity, `"name":"zoo"`},
		{`[`, http.StatusUnprocessableEntity, `"name":"zoo"`},
		{`{"action":"remove","name":"zoo"}`, http.StatusOK, `"workspaces":[]`},
		{`{"action":"remove","name":"zoo"}`, http.StatusUnprocessableEntity, `"workspaces":[]`},
	} {
		status, answered := s.api("POST", "/api/workspaces", step.change)
		if _, body := s.api("GET", "/api/workspaces", ""); status != step.status || !strings.Contains(body, step.want) {
			t.Errorf("%s: %d %s; then %s", step.change, status, answered, body)
		}
	}
}
