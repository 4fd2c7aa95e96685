package postgres

// distinct numbers the distinct values that rows share, from 1 in the order of
// their first occurrence, so that each is sent once. Most batches have one or a few.
type distinct[T comparable] struct {
	numbers map[T]int64
	last    T
	number  int64 // the last one's, 0 before the first
}

// add returns the value's number, and whether it is new.
func (d *distinct[T]) add(thing T) (number int64, isNew bool) {
	if d.number > 0 && thing == d.last {
		return d.number, false
	}
	number, known := d.numbers[thing]
	if !known {
		if d.numbers == nil {
			d.numbers = map[T]int64{}
		}
		number = int64(len(d.numbers) + 1)
		d.numbers[thing] = number
	}
	d.last, d.number = thing, number
	return number, !known
}
