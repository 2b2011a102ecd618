import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Clients that a test leaves running: a member of a group, and a producer whose transaction stays open. */
public class Clients {
  public static void main(String[] words) throws Exception {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", words[1]);
    if (words[0].equals("transaction")) {
      properties.put("transactional.id", words[2]);
      properties.put("transaction.timeout.ms", "600000");
      KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
      producer.initTransactions();
      producer.beginTransaction();
      for (String partition : Arrays.copyOfRange(words, 3, words.length)) {
        int dash = partition.lastIndexOf('-');
        producer.send(new ProducerRecord<>(partition.substring(0, dash), Integer.parseInt(partition.substring(dash + 1)), null, new byte[9])).get();
      }
      System.out.println("ready");
      Thread.sleep(Long.MAX_VALUE);
    }
    properties.put("group.id", words[2]);
    properties.put("client.id", words[3]);
    properties.put("auto.offset.reset", "earliest");
    properties.put("enable.auto.commit", "false");
    if (words[5].equals("consumer")) properties.put("group.protocol", "consumer");
    int most = Integer.parseInt(words[6]);
    KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    consumer.subscribe(Arrays.asList(words[4].split(",")));
    int read = 0;
    while (read < most || most == 0) {
      int found = consumer.poll(Duration.ofMillis(200)).count();
      if (found > 0) consumer.commitSync();
      read += found;
      if (!consumer.assignment().isEmpty()) System.out.println("ready " + consumer.assignment());
    }
    consumer.close();
  }
}
