package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// ProcessedImages drops an image of the user after the model has answered, because the answer describes what the model
// saw in the image. It waits until something newer than the image's message was dropped.
func ProcessedImages(v View, k Knobs) []frozen.Edit {
	dropped, cutoff := 0, v.cutoff(k)
	for u := range v.State.Units() {
		if !u.Active() {
			dropped = u.Tag
		}
	}
	answered := false
	var edits []frozen.Edit
	for i := len(v.Messages) - 1; i >= 0; i-- {
		m := &v.Messages[i]
		if m.Role == Assistant {
			answered = true
			continue
		}
		if !answered {
			continue
		}
		highest := newestTag(m)
		for _, it := range m.Items {
			if it.Image && highest <= dropped && it.Tag <= cutoff {
				edits = append(edits, frozen.Edit{Tag: it.Tag, Kind: frozen.Drop})
			}
		}
	}
	return edits
}
