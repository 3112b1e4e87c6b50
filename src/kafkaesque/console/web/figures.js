// A row of names with one number or word each. figures: {name, kind, value}; null is a dash.

import { write } from "/console/numbers.js";

export default {
  template: `
    <div class="k-figures">
      <div v-for="figure in figures" :key="figure.name" class="k-figure">
        <div class="k-name">{{ figure.name }}</div>
        <div class="k-number" :data-figure="figure.name">{{ write(figure.value, figure.kind) }}</div>
      </div>
    </div>
  `,
  props: { figures: Array },
  methods: { write },
};
