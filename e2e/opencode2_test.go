package e2e

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// This test uses a fake if no beta of OpenCode 2 is installed. The other tests of OpenCode 2 are in e2e/opencode2.
func TestOpenCode2Invariant17HarnessStoreStaysTheSame(t *testing.T) {
	testLookingChangesNothing(t, schema.HarnessOpenCode2)
}
