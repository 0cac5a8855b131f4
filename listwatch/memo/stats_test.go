package memo

// stats say what has become of the parts.
type stats struct {
	Asked, Found uint64 // parts that were looked for, and that were there
	Parts        int    // in the tables
	Paused       int    // fields that are not looked for at this time
}

// stats returns the numbers since New, of all types together.
func (d *Decoder) stats() (all stats) {
	d.types.Range(func(_, value any) bool {
		value.(*typeDecoder).addTo(&all)
		return true
	})
	return all
}

func (d *typeDecoder) addTo(s *stats) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Asked += d.table.asked
	s.Found += d.table.hits
	for n := range d.table.fields {
		s.Parts += len(d.table.young[n]) + len(d.table.old[n])
		if d.table.fields[n].pause > 0 {
			s.Paused++
		}
	}
}
