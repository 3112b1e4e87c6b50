// A schema to check or register: its text, its type and, where none is given, its subject.
//
// What is typed stays here until a button is pressed; `text` and `type` are what the form begins with.
// outcome: {good, lines}, what the registry said to the last one. Events to the server: check and
// register, both {subject, type, text}.

export default {
  template: `
    <form class="k-form" @submit.prevent="send('register')" :aria-label="label">
      <div class="k-toolbar">
        <input v-if="!subject" class="k-input k-filter k-mono" v-model="name" placeholder="orders-value" aria-label="Subject"
          autocomplete="off" autocapitalize="off" spellcheck="false" />
        <select class="k-input" v-model="kind" aria-label="Type of the schema">
          <option value="AVRO">Avro</option><option value="JSON">JSON Schema</option><option value="PROTOBUF">Protobuf</option>
        </select>
        <button type="button" class="k-button" :disabled="!ready || busy" @click="send('check')">Check</button>
        <button type="submit" class="k-button k-primary" :disabled="!ready || busy">Register</button>
        <span v-if="note" class="k-count">{{ note }}</span>
      </div>
      <textarea class="k-input k-mono" v-model="typed" @input="touched = true" rows="12" spellcheck="false" autocapitalize="off"
        aria-label="Text of the schema" placeholder='{"type": "record", "name": "Order", "fields": [ … ]}'></textarea>
      <div v-if="outcome" class="k-outcome" :data-good="String(outcome.good)" :role="outcome.good ? 'status' : 'alert'">
        <p v-for="line in outcome.lines">{{ line }}</p>
      </div>
    </form>
  `,
  props: { label: String, subject: String, type: String, text: String, note: String, busy: Boolean, outcome: Object },
  emits: ["check", "register"],
  data() {
    return { name: "", kind: this.type, typed: this.text, touched: false };
  },
  computed: {
    ready() {
      return this.typed.trim() && (this.subject || this.name.trim());
    },
  },
  watch: {
    text(value) {
      if (!this.touched) this.typed = value;
    },
    type(value) {
      if (!this.touched) this.kind = value;
    },
  },
  methods: {
    send(deed) {
      this.$emit(deed, { subject: this.subject || this.name.trim(), type: this.kind, text: this.typed });
    },
  },
};
