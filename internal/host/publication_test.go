package host

import (
	"testing"

	"github.com/magicctx/magicctx-host/agents/historian"
)

// Once, each run stored events and observations about the user, which nothing read.
func TestOnlyWhatIsReadIsStored(t *testing.T) {
	p := publication(&plan{job: historian.Job{Chunk: historian.Chunk{Start: 1}}}, historian.Result{
		Compartments: make([]historian.Compartment, 1),
		Events:       []historian.Event{{Kind: "causal_incident", Compartment: 1}},
		Observations: []string{"likes tea"}, Next: 3,
	})
	if len(p.Compartments) != 1 || len(p.Events) > 0 || len(p.Observations) > 0 {
		t.Errorf("stored: %+v", p)
	}
}
