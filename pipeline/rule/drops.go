package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

type drops struct {
	edits []frozen.Edit
	need  int
}

func (v View) dropsUntilEnough() drops { return drops{need: v.Need} }

func (d *drops) isEnough() bool { return d.need <= 0 }

// The method `add` ignores a unit that the user keeps.
func (d *drops) add(u *frozen.Unit, kind frozen.EditKind) {
	if u.Kept != 0 {
		return
	}
	e := frozen.Edit{Tag: u.Tag, Kind: kind}
	d.need -= u.Freed(e)
	d.edits = append(d.edits, e)
}

// addIfSmaller drops u whole, if its placeholder is smaller than u.
func (d *drops) addIfSmaller(u *frozen.Unit) {
	if u.Freed(frozen.Edit{Tag: u.Tag, Kind: frozen.Drop}) > 0 {
		d.add(u, frozen.Drop)
	}
}
