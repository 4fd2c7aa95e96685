module example.com/broken/nested
