package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// ReduceTool is the tool with which the model marks units to drop.
const ReduceTool = "ctx_reduce"

// StaleReduceCalls drops old calls of ctx_reduce. The newest calls stay, so that the model sees which units it has just
// marked.
func StaleReduceCalls(v View, k Knobs) []frozen.Edit {
	if !k.DropsStaleReduceCalls {
		return nil
	}
	var edits []frozen.Edit
	for i := range max(0, len(v.Messages)-k.ProtectedTags) {
		for _, it := range v.Messages[i].Items {
			u := v.State.ByTag(it.Tag)
			if u != nil && u.Tool == ReduceTool && u.Active() && !it.Open {
				edits = append(edits, frozen.Edit{Tag: it.Tag, Kind: frozen.Drop})
			}
		}
	}
	return edits
}
