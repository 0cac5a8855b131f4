// Package pictures draws docs/pictures from the code's own tables, as SVG.
//
//	imports.svg   from the table of imports in ARCHITECTURE.md, which tests/imports holds against the code
//	states.svg    from the comments of the reflector's states, and from the table of its errors
//	path.svg      from the boundaries that reflector, sharedinformer and controller report to an observer
//
// `go test ./tests/pictures -update` draws them anew. The test fails if a checked-in picture is outdated, if a line of
// text leaves its box, if boxes overlap, and if the code has a state or a boundary that has no place in a picture.
//
// source.go reads the tables, canvas.go writes SVG. Each other file draws one picture.
package pictures
