package postgres

// distinct numbers what rows have in common, from 1 on in the order in which it
// first comes. Most batches have one such thing, or a few; it is sent once.
type distinct[T comparable] struct {
	numbers map[T]int64
	last    T
	number  int64 // the last one's, 0 before the first
}

// add returns the thing's number, and whether it is new.
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
