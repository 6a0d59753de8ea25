package host

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

func TestWeighingPrice(t *testing.T) {
	for _, c := range []struct {
		name        string
		price, want schema.Price
	}{
		{"a catalogue with all", schema.Price{Fresh: 3, Write: 3.75, Read: 0.3}, schema.Price{Fresh: 3, Write: 3.75, Read: 0.3}},
		{"a provider that caches by itself", schema.Price{Fresh: 1.25, Read: 0.125}, schema.Price{Fresh: 1.25, Write: 1.25, Read: 0.125}},
		{"no price of reading", schema.Price{Fresh: 3, Write: 3.75}, pipeline.TypicalPrice},
		{"nothing", schema.Price{}, pipeline.TypicalPrice},
	} {
		if got := weighingPrice(c.price); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
