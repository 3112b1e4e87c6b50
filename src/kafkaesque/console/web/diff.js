// What has changed between two schemas: fields, lines, and who can read whom.
//
// changes: {kind, path, text}, or null where fields cannot be told; lines: of a unified diff;
// verdicts: {direction, compatible, sentence, reasons}.

export default {
  template: `
    <div class="k-diff">
      <ul v-if="changes && changes.length" class="k-changes" aria-label="Changes by field">
        <li v-for="change in changes" class="k-mono" :data-change="change.kind">
          <b>{{ signs[change.kind] }} {{ change.path }}</b> {{ change.text }}
        </li>
      </ul>
      <ul v-if="lines.length" class="k-verdicts" aria-label="Who can read whom">
        <li v-for="verdict in verdicts" :data-verdict="verdict.direction" :data-compatible="String(verdict.compatible)">
          <b>{{ verdict.direction }}</b> {{ verdict.sentence }}
          <ul v-if="verdict.reasons.length"><li v-for="reason in verdict.reasons">{{ reason }}</li></ul>
        </li>
      </ul>
      <pre v-if="lines.length" aria-label="Changes by line"><span v-for="line in lines" :data-line="mark(line)">{{ line + '\\n' }}</span></pre>
      <p v-else class="k-empty">{{ empty }}</p>
    </div>
  `,
  props: { changes: Array, lines: Array, verdicts: Array, empty: String },
  data() {
    return { signs: { added: "+", removed: "−", changed: "~" } };
  },
  methods: {
    mark(line) {
      if (line.startsWith("+++") || line.startsWith("---") || line.startsWith("@@")) return "head";
      return { "+": "added", "-": "removed" }[line[0]] ?? "same";
    },
  },
};
