package executor

import "iter"

// dueHeap orders places by a time, the earliest at the root. It has its own
// up and down, since what is due is to be told without taking it out, and
// container/heap would allocate for each node.
type dueHeap struct {
	nodes []dueNode
	index []int32 // where each place's node is, -1: nowhere; nil: nobody asks
}

type dueNode struct {
	at    int64 // Unix seconds
	place int32
}

// put gives a place its time, be it in the heap or not.
func (h *dueHeap) put(n dueNode) {
	i := -1
	if h.index != nil {
		i = int(h.index[n.place])
	}
	if i < 0 {
		i = len(h.nodes)
		h.nodes = append(h.nodes, n)
	}
	h.settle(i, n)
}

// remove takes out a place, if it is in the heap.
func (h *dueHeap) remove(place int) {
	if i := h.index[place]; i >= 0 {
		h.index[place] = -1
		h.cut(int(i))
	}
}

// cut takes out the node at i.
func (h *dueHeap) cut(i int) {
	last := len(h.nodes) - 1
	n := h.nodes[last]
	if h.nodes = h.nodes[:last]; i < last {
		h.settle(i, n)
	}
}

// settle puts a node at i, or as far above or below as its time demands.
func (h *dueHeap) settle(i int, n dueNode) {
	for i > 0 && n.at < h.nodes[(i-1)/2].at {
		h.set(i, h.nodes[(i-1)/2])
		i = (i - 1) / 2
	}
	for child := 2*i + 1; child < len(h.nodes); child = 2*i + 1 {
		if right := child + 1; right < len(h.nodes) && h.nodes[right].at < h.nodes[child].at {
			child = right
		}
		if n.at <= h.nodes[child].at {
			break
		}
		h.set(i, h.nodes[child])
		i = child
	}
	h.set(i, n)
}

func (h *dueHeap) set(i int, n dueNode) {
	h.nodes[i] = n
	if h.index != nil {
		h.index[n.place] = int32(i)
	}
}

// upTo yields the places whose time has come by then, earliest first, and
// leaves the heap as it is. No node is earlier than the one above it, so the
// next is always one below those that were yielded.
func (h *dueHeap) upTo(then int64) iter.Seq[int] {
	return func(yield func(int) bool) {
		var open dueHeap // of indices in h.nodes
		look := func(i int) {
			if i < len(h.nodes) && h.nodes[i].at <= then {
				open.put(dueNode{h.nodes[i].at, int32(i)})
			}
		}
		for look(0); len(open.nodes) > 0; {
			i := int(open.nodes[0].place)
			open.cut(0)
			if !yield(int(h.nodes[i].place)) {
				return
			}
			look(2*i + 1)
			look(2*i + 2)
		}
	}
}
