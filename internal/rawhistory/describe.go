package rawhistory

import (
	"fmt"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

func Describe(sources []Source) string {
	if len(sources) == 0 {
		return "No harness has stored a session on this machine.\n"
	}
	var b strings.Builder
	files := map[schema.Harness]int{}
	for _, source := range sources {
		if len(source.Sessions) == 1 && source.Sessions[0].Messages == 0 { // a file with one session
			files[source.Harness]++
			continue
		}
		messages := 0
		for _, stored := range source.Sessions {
			messages += stored.Messages
		}
		fmt.Fprintf(&b, "%s: %s with %s in %s\n", source.Harness, format.Count(len(source.Sessions), "session"), format.Count(messages, "message"), format.Clean(source.Path))
	}
	for _, harness := range Readable {
		if n := files[harness]; n > 0 {
			fmt.Fprintf(&b, "%s: %s\n", harness, format.Count(n, "session"))
		}
	}
	return b.String() + "Nothing was written.\n"
}
