// What Apache Avro says: one pair of schemas on each line in, one verdict on each line out.
//
//   in   reader TAB writer
//   out  COMPATIBLE | INCOMPATIBLE kind@path ... | UNDECIDED, TAB the reader's text, TAB the writer's
//        or REFUSED TAB why, if one of them is no schema
//
// Built and run by tests/compat/avro_oracle.py.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.Incompatibility;

public class AvroOracle {
  public static void main(String[] arguments) throws Exception {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      out.println(answer(line.split("\t")));
    }
    out.flush();
  }

  private static String answer(String[] pair) {
    Schema reader;
    Schema writer;
    try {
      reader = new Schema.Parser().parse(pair[0]);
      writer = new Schema.Parser().parse(pair[1]);
    } catch (RuntimeException refusal) {
      return "REFUSED\t" + String.valueOf(refusal.getMessage()).replaceAll("\\s+", " ");
    }
    return verdict(reader, writer) + "\t" + reader + "\t" + writer;
  }

  private static String verdict(Schema reader, Schema writer) {
    StringBuilder verdict = new StringBuilder();
    try {
      var result = SchemaCompatibility.checkReaderWriterCompatibility(reader, writer).getResult();
      verdict.append(result.getCompatibility());
      for (Incompatibility each : result.getIncompatibilities()) {
        verdict.append(' ').append(each.getType()).append('@').append(each.getLocation());
      }
    } catch (AvroRuntimeException several) {
      return "UNDECIDED"; // A field of the reader matches several of the writer.
    }
    return verdict.toString();
  }
}
