/*
 * Apache Kafka's command-line tools, many in one JVM: ToolRunner JAR. Each line on stdin is one command, {main,
 * arguments, input}; each line on stdout is what became of it, {code, out, err}. A tool's classes are loaded anew from
 * the jar for each command, which leaves the statics of the last one behind. The jar is not on the class path.
 */

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.utils.Exit;

public class ToolRunner {
    static final ObjectMapper JSON = new ObjectMapper();
    static final long TIMEOUT_MS = 30_000;
    static final Capture OUT = new Capture();
    static final Capture ERR = new Capture();
    static final List<Runnable> HOOKS = new CopyOnWriteArrayList<>();
    static final AtomicReference<Integer> CODE = new AtomicReference<>();
    static volatile boolean ended;

    /** Scala keeps the System.out it first saw: the stream stays, what is behind it changes. */
    static class Capture extends OutputStream {
        private ByteArrayOutputStream content = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int one) {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public synchronized void write(byte[] data, int offset, int length) {
            if (!ended) {
                content.write(data, offset, length);
            }
        }

        synchronized String take() {
            String text = content.toString(StandardCharsets.UTF_8);
            content = new ByteArrayOutputStream();
            return text;
        }
    }

    /** The metadata shell closes System.out when it is done. */
    static class Unclosed extends PrintStream {
        Unclosed(OutputStream out) {
            super(out, true, StandardCharsets.UTF_8);
        }

        @Override
        public void close() {
            flush();
        }
    }

    static class Exited extends Error {
    }

    public static void main(String[] command) throws Exception {
        URL[] jar = {Path.of(command[0]).toUri().toURL()};
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = System.out;
        System.setOut(new Unclosed(OUT));
        System.setErr(new Unclosed(ERR));
        Exit.setExitProcedure(ToolRunner::exit);
        Exit.setHaltProcedure(ToolRunner::exit);
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(hook));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            answers.println(JSON.writeValueAsString(run(jar, JSON.readTree(line))));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    static Map<String, Object> run(URL[] jar, JsonNode command) throws Exception {
        CODE.set(null);
        HOOKS.clear();
        ended = false;
        System.setIn(new ByteArrayInputStream(command.get("input").asText().getBytes(StandardCharsets.UTF_8)));
        try (URLClassLoader loader = new URLClassLoader(jar)) {
            Thread thread = new Thread(() -> call(loader, command), "tool");
            thread.setContextClassLoader(loader);
            thread.setDaemon(true);
            thread.start();
            thread.join(TIMEOUT_MS);
            if (thread.isAlive()) {
                CODE.compareAndSet(null, -1);
                thread.interrupt();
            }
        }
        CODE.compareAndSet(null, 0);
        return Map.of("code", CODE.get(), "out", OUT.take(), "err", ERR.take());
    }

    static void call(ClassLoader loader, JsonNode command) {
        List<String> arguments = new ArrayList<>();
        command.get("arguments").forEach(argument -> arguments.add(argument.asText()));
        try {
            Class<?> tool = loader.loadClass(command.get("main").asText());
            tool.getMethod("main", String[].class).invoke(null, (Object) arguments.toArray(String[]::new));
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Exited)) {
                CODE.compareAndSet(null, 1);
                thrown.getCause().printStackTrace();
            }
        } catch (ReflectiveOperationException broken) {
            CODE.compareAndSet(null, -2);
            broken.printStackTrace();
        }
        ended = false;
        HOOKS.forEach(Runnable::run);
    }

    /** Nothing that a tool says after its first exit counts: it may catch what is thrown here. */
    static void exit(int code, String message) {
        CODE.compareAndSet(null, code);
        ended = true;
        throw new Exited();
    }
}
