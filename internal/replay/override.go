package replay

import (
	"fmt"
	"slices"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// Modes are the modes in which a session can be replayed.
var Modes = []string{"primary", "primary-no-reduce", "subagent", "subagent-no-reduce"}

// packages maps each provider profile to a package of the AI SDK that leads to this profile.
var packages = map[string]string{
	"anthropic":         "@ai-sdk/anthropic",
	"bedrock":           "@ai-sdk/amazon-bedrock",
	"vertex":            "@ai-sdk/google-vertex/anthropic",
	"openai":            "@ai-sdk/openai",
	"copilot":           "@ai-sdk/github-copilot",
	"openai-compatible": "@ai-sdk/openai-compatible",
	"google":            "@ai-sdk/google",
	"unknown":           "",
}

// replayedParent is the parent id given to a session that had no parent when it was recorded.
const replayedParent = "ses_replayed"

// overrides change a trace as if it had been recorded in another mode, or with another provider profile
// or window. The zero value changes nothing.
type overrides struct {
	mode, profile string
	window        int
	// recorded maps the name under which a provider is replayed to its name in the trace.
	recorded map[string]string
}

func newOverrides(o Options) (*overrides, error) {
	v := &overrides{mode: o.Mode, profile: o.Profile, window: o.Window, recorded: make(map[string]string)}
	if o.Mode != "" && !slices.Contains(Modes, o.Mode) {
		return nil, fmt.Errorf("unknown mode %q", o.Mode)
	}
	if _, ok := packages[o.Profile]; !ok && o.Profile != "" {
		return nil, fmt.Errorf("unknown provider profile %q", o.Profile)
	}
	return v, nil
}

func (v *overrides) isSubagent() bool {
	return v.mode == "subagent" || v.mode == "subagent-no-reduce"
}

func (v *overrides) reduces() bool { return v.mode == "primary" || v.mode == "subagent" }

// configure sets the configuration keys that decide the mode.
func (v *overrides) configure(c *schema.Config) {
	if v.mode != "" {
		c.CtxReduceEnabled = v.reduces()
	}
}

// parent returns the parent to report for a session.
func (v *overrides) parent(recorded string) string {
	switch {
	case v.mode == "":
		return recorded
	case !v.isSubagent():
		return ""
	case recorded == "":
		return replayedParent
	}
	return recorded
}

// patch returns the changes to a message, except those to its usage.
func (v *overrides) patch(m *transcript.Message) schema.Patch {
	var patch schema.Patch
	if path := providerPath(m); path != "" && v.profile != "" {
		if name := v.provider(m.Model.Provider); name != m.Model.Provider {
			patch = append(patch, schema.PatchOp{Op: "replace", Path: path, Value: json.Quote(name)})
		}
	}
	if m.Role == transcript.User && v.reduces() && len(m.Tools) > 0 {
		patch = append(patch, schema.PatchOp{Op: "remove", Path: "/info/tools"}) // these may forbid ctx_reduce
	}
	return patch
}

func providerPath(m *transcript.Message) string {
	switch {
	case m.Model.Provider == "":
		return ""
	case m.Role == transcript.User:
		return "/info/model/providerID"
	}
	return "/info/providerID"
}

// provider returns the name under which a provider is replayed. It is the recorded name, unless that
// name leads to another profile than the wanted one.
func (v *overrides) provider(recorded string) string {
	if render.ProfileOf(recorded, packages[v.profile]).Name == v.profile {
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

// limits answers a request for a model's limits from the trace.
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
	if v.profile != "" {
		l.NPM = packages[v.profile]
	}
	return l, nil
}
