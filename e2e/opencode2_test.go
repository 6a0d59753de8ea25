package e2e

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// If no beta of OpenCode 2 is installed, a fake is used. The other tests of OpenCode 2 are in e2e/opencode2.
func TestOpenCode2Invariant17HarnessStoreStaysTheSame(t *testing.T) {
	testLookingChangesNothing(t, schema.HarnessOpenCode2)
}
