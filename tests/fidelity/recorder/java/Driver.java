import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * The producers, the command-line tools, and (by Admins, where that class was compiled) the Admin API of one release. It reads one request a line, with fields
 * separated by tabs: a number, an operation, and its arguments. A reply is "@number" and its text in base64. Arguments of the program: "acks name value..." of
 * each kind of producer, separated by tabs.
 */
public class Driver {
  private static final PrintStream REPLIES = System.out;
  private static final Map<String, Properties> KINDS = new TreeMap<>();
  private static final Map<String, KafkaProducer<byte[], byte[]>> PRODUCERS = new ConcurrentHashMap<>();

  private static KafkaProducer<byte[], byte[]> producer(String kind) {
    return PRODUCERS.computeIfAbsent(kind, k -> new KafkaProducer<>(KINDS.get(k)));
  }

  private static String produce(String topic, int partition, int records, String kind, String value) throws Exception {
    AtomicInteger acknowledged = new AtomicInteger();
    Map<String, Integer> errors = new ConcurrentSkipListMap<>();
    CountDownLatch done = new CountDownLatch(records);
    long begun = System.currentTimeMillis();
    for (int i = 0; i < records; i++) {
      try {
        producer(kind).send(new ProducerRecord<>(topic, partition, null, (value + "-" + i).getBytes(StandardCharsets.UTF_8)), (metadata, error) -> {
          if (error == null) acknowledged.incrementAndGet();
          else errors.merge(error.getClass().getSimpleName() + ": " + error.getMessage(), 1, Integer::sum);
          done.countDown();
        });
      } catch (Exception error) {
        errors.merge("SYNC " + error, 1, Integer::sum);
        done.countDown();
      }
    }
    done.await(90, TimeUnit.SECONDS);
    return "acked=" + acknowledged.get() + "\tms=" + (System.currentTimeMillis() - begun) + "\terrors=" + errors;
  }

  private static class Exited extends SecurityException {
    final int code;

    Exited(int code) {
      super("exit " + code);
      this.code = code;
    }
  }

  /** Keeps a tool from ending this process. */
  private static void keepRunning() {
    System.setSecurityManager(new SecurityManager() {
      @Override public void checkExit(int code) { throw new Exited(code); }
      @Override public void checkPermission(java.security.Permission permission) { }
      @Override public void checkPermission(java.security.Permission permission, Object context) { }
    });
  }

  private static String tool(String name, String[] arguments) throws Exception {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    PrintStream printed = new PrintStream(text, true, "UTF-8");
    PrintStream out = System.out;
    PrintStream err = System.err;
    System.setOut(printed);
    System.setErr(printed);
    try {
      Method main = Class.forName(name).getMethod("main", String[].class);
      scala.Console$.MODULE$.withOut(printed, new scala.runtime.AbstractFunction0<Object>() {
        @Override public Object apply() {
          try {
            main.invoke(null, (Object) arguments);
          } catch (InvocationTargetException error) {
            throw new IllegalStateException(error.getCause());
          } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
          }
          return null;
        }
      });
    } catch (IllegalStateException error) {
      Throwable cause = error;
      while (cause.getCause() != null && !(cause instanceof Exited)) cause = cause.getCause();
      if (!(cause instanceof Exited) && !String.valueOf(cause.getMessage()).contains("exit should not return")) printed.println("Error: " + cause);
    } finally {
      printed.flush();
      System.setOut(out);
      System.setErr(err);
    }
    return text.toString("UTF-8");
  }

  private static String answer(String operation, String[] arguments) throws Exception {
    switch (operation) {
      case "warm":
        for (String topic : arguments) for (String kind : KINDS.keySet()) producer(kind).partitionsFor(topic);
        return "ok";
      case "fresh":
        for (KafkaProducer<byte[], byte[]> producer : PRODUCERS.values()) producer.close();
        PRODUCERS.clear();
        return "ok";
      case "tool":
        return tool(arguments[0], Arrays.copyOfRange(arguments, 1, arguments.length));
      default:
        Method admin = Class.forName("Admins").getMethod("answer", String.class, String[].class);
        return (String) admin.invoke(null, operation, arguments);
    }
  }

  private static synchronized void reply(String number, String text) {
    REPLIES.println("@" + number + " " + Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8)));
    REPLIES.flush();
  }

  public static void main(String[] args) throws Exception {
    for (String kind : args) {
      String[] words = kind.split("\t");
      Properties properties = new Properties();
      properties.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
      properties.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
      for (int i = 1; i + 1 < words.length; i += 2) properties.put(words[i], words[i + 1]);
      KINDS.put(words[0], properties);
    }
    keepRunning();
    ExecutorService pool = Executors.newCachedThreadPool();
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    String line;
    while ((line = requests.readLine()) != null) {
      String[] words = line.split("\t", -1);
      String[] arguments = Arrays.copyOfRange(words, 2, words.length);
      if (words[1].equals("produce")) {
        pool.submit(() -> {
          String text;
          try {
            text = produce(arguments[0], Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]), arguments[3], arguments[4]);
          } catch (Throwable error) {
            text = "Error: " + error;
          }
          reply(words[0], text);
        });
        continue;
      }
      String text;
      try {
        text = answer(words[1], arguments);
      } catch (Throwable error) {
        text = "Error: " + error + (error.getCause() == null ? "" : " " + error.getCause());
      }
      reply(words[0], text);
    }
    Runtime.getRuntime().halt(0);
  }
}
