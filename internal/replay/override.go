package replay

import (
	"cmp"
	"fmt"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// Profiles returns the names of the provider profiles that a replay may choose.
func Profiles() []string {
	names := make([]string, len(render.Profiles))
	for i, p := range render.Profiles {
		names[i] = p.Name
	}
	return names
}

// agentTimeout is long, because a replay gives an answer only when it reaches the answer's place in the trace.
const agentTimeout = 24 * time.Hour

// replayedParent is the parent of a session that was recorded without one but is replayed as a subagent.
const replayedParent = "ses_replayed"

// `overrides` change a trace, as if it had been recorded in another mode, with another profile, or in another window.
type overrides struct {
	mode    *mode.Mode      // nil keeps the recorded mode
	profile *render.Profile // nil keeps the recorded profile
	window  int
	prices  Prices
	marks   Marks
	isLive  bool // hidden agents are asked
	// The map `recorded` gives the recorded name of each renamed provider. The key is the new name.
	recorded map[string]string
}

func newOverrides(o Options) (*overrides, error) {
	v := &overrides{window: o.Window, prices: o.Prices, marks: o.Marks, isLive: o.Ask != nil, recorded: make(map[string]string)}
	if o.Mode != "" {
		m, err := mode.Parse(o.Mode)
		if err != nil {
			return nil, err
		}
		v.mode = &m
	}
	if o.Profile != "" {
		p := render.ProfileNamed(o.Profile)
		if p.Name != o.Profile {
			return nil, fmt.Errorf("unknown provider profile %q", o.Profile)
		}
		v.profile = &p
	}
	return v, nil
}

func (v *overrides) areNone() bool {
	return v.mode == nil && v.profile == nil && v.window == 0 && len(v.prices) == 0 && v.marks == Marks{} && !v.isLive
}

// The method `configure` sets the keys that decide the mode. It also raises the historian's time limit, which uses the
// machine's clock: a replay may give a recorded answer later than the provider did.
func (v *overrides) configure(c *schema.Config) {
	c.HistorianTimeoutMS = int(agentTimeout.Milliseconds())
	*c = v.marks.at(*c)
	if v.mode != nil {
		c.CtxReduceEnabled = v.mode.Reduces
	}
}

func (v *overrides) parent(recorded string) string {
	switch {
	case v.mode == nil:
		return recorded
	case !v.mode.IsSubagent:
		return ""
	case recorded == "":
		return replayedParent
	}
	return recorded
}

func (v *overrides) model(recorded *schema.Model) *schema.Model {
	if recorded == nil || v.profile == nil {
		return recorded
	}
	return &schema.Model{Provider: v.provider(recorded.Provider), ID: recorded.ID}
}

func (v *overrides) patch(paths *transcript.Paths, m *transcript.Message) schema.Patch {
	var patch schema.Patch
	if path := providerPath(paths, m); path != "" && v.profile != nil {
		if name := v.provider(m.Model.Provider); name != m.Model.Provider {
			patch = append(patch, schema.PatchOp{Op: "replace", Path: path, Value: json.Quote(name)})
		}
	}
	if m.Role == transcript.User && v.mode != nil && v.mode.Reduces && len(m.Tools) > 0 && paths.Tools != "" {
		patch = append(patch, schema.PatchOp{Op: "remove", Path: paths.Tools}) // the recorded tool switches may forbid ctx_reduce
	}
	return patch
}

func providerPath(paths *transcript.Paths, m *transcript.Message) string {
	switch {
	case m.Model.Provider == "":
		return ""
	case m.Role == transcript.User:
		return paths.UserProvider
	}
	return paths.AnswerProvider
}

// The method `provider` returns the name under which the replay passes a recorded provider to the host. If the recorded
// name does not lead to the wanted profile, the replay invents a name, for example "replayed-1".
func (v *overrides) provider(recorded string) string {
	if render.ProfileOf(recorded, v.profile.Package()).Name == v.profile.Name {
		return recorded
	}
	for name, of := range v.recorded {
		if of == recorded {
			return name
		}
	}
	name := fmt.Sprintf("replayed-%d", len(v.recorded)+1)
	v.recorded[name] = recorded
	return name
}

func (v *overrides) price(m schema.Model) (schema.Price, bool) {
	m.Provider = cmp.Or(v.recorded[m.Provider], m.Provider)
	if price, ok := v.prices[m.Provider+"/"+m.ID]; ok {
		return price, true
	}
	price, ok := v.prices[EveryModel]
	return price, ok
}

func (v *overrides) limits(t *trace, p schema.ModelLimitsParams) (schema.ModelLimits, error) {
	if name, ok := v.recorded[p.Model.Provider]; ok {
		p.Model.Provider = name
	}
	var l schema.ModelLimits
	asked, err := json.Marshal(p)
	if err != nil {
		return l, err
	}
	answer, err := t.answer(schema.MethodModelLimits, asked)
	if err == nil {
		err = json.Unmarshal(answer, &l)
	}
	if err != nil && v.window == 0 {
		return l, err
	}
	if v.window > 0 {
		l.ContextTokens, l.InputTokens = v.window, 0
	}
	if price, ok := v.price(p.Model); ok {
		l.Price = price
	}
	if v.profile != nil {
		l.NPM = v.profile.Package()
	}
	return l, nil
}
