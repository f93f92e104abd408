// parts of arrays, the last element, an element of a result
model ArraySlice
  Real x[5] = {time, 2 * time, 3 * time, 4 * time, 5 * time};
  Real m[2, 3] = {x[1:3], x[3:5]};
  Real last = x[end] + m[end, 1];
  Real odd[3] = x[{1, 3, 5}];
  Real column[2] = m[:, 2];
  Real step[2] = x[5:-2:2];
end ArraySlice;
