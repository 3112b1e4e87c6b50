// A box to choose from, with its name before it. options: {value, text}. Event to the server: choose value.

export default {
  template: `
    <label class="k-choice">{{ label }}
      <select class="k-input" :aria-label="label" @change="$emit('choose', $event.target.value)">
        <option v-for="option in options" :key="option.value" :value="option.value"
          :selected="option.value === value">{{ option.text }}</option>
      </select>
    </label>
  `,
  props: { label: String, options: Array, value: String },
  emits: ["choose"],
};
